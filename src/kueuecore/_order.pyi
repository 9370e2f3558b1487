# Only for other units: nothing in it is called from Python.
