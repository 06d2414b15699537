"""Symbols written as ONNX: one file for each family of operators."""
