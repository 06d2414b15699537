from minimx.nd import *
