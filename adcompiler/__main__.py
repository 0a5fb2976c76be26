"""`python -m adcompiler`: see `cli`."""

import sys

from adcompiler.cli import main

sys.exit(main())
