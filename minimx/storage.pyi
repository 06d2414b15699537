from minimx.core.storage import *
