from minimx.np import *
