from minimx.npx import *
