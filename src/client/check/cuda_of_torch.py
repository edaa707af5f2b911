try:
    import os, re
    torch = find_spec("torch")
    with open(os.path.join(os.path.dirname(torch.origin), "version.py")) as file:
        found = re.search(r"^cuda\b[^=\n]*=\s*'([^']+)'", file.read(), re.M)
    print("cuda", found.group(1))
except Exception:
    pass
