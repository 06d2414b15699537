from minimx.core.autograd import *
