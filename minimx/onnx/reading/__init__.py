"""ONNX read as symbols: one file for each family of nodes."""
