"""Parameters: one (`Parameter`, `Constant`), and many by name (`ParameterDict`)."""

from minimx.core.errors import DeferredInitializationError
from minimx.gluon.parameter.constant import Constant
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.parameter.parameter import Parameter

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]
