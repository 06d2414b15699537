from minimx.core.replay import *
