"""The version of minimx, and of the MXNet whose behaviour it follows."""

__version__ = "0.1.0"
MXNET_VERSION = "1.9.1"
