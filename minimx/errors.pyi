from minimx.core.errors import *
