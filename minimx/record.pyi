from minimx.core.record import *
