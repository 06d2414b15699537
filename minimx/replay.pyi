from minimx.experiments import *
