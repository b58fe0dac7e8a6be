import posix
take=lambda n,b=b'':b if len(b)==n else take(n,b+(posix.read(3,n-len(b))or posix._exit(0)))
exec(take(int.from_bytes(take(5)[1:],'little')))
try:
 for code in start_kernel():end_code(eval(*code))
except:on_error();raise
finally:on_exit()
