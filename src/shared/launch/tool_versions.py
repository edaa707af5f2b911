import sys
from importlib.util import find_spec
print("python", sys.version.split()[0])
for name in sys.argv[1:]:
    try:
        from importlib.metadata import version
        print(name, version(name))
    except Exception:
        print(name, "unknown" if find_spec(name) else "")
