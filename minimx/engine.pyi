from minimx.core.engine import *
