"""python -m replab"""

from replab.cli import main

main()
