import socket, sys
for name in sys.argv[1:]:
    print("=", name)
    try:
        for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM):
            print(found[4][0])
    except OSError:
        pass
