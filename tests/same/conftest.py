"""PyTorch's half is run in PyTorch's interpreter, not collected in ours."""

collect_ignore = ["in_torch.py"]
