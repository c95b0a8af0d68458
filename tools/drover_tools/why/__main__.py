# SPDX-License-Identifier: MIT
"""python3 -m drover_tools.why"""

import sys

from drover_tools.why.command import main

sys.exit(main())
