import marshal,posix,sys
take=lambda n,b=b'':b if len(b)==n else take(n,b+(posix.read(3,n-len(b))or posix._exit(0)))
line,_,boot=take(int.from_bytes(take(5)[1:],'little')).partition(b'\n')
end=8+int.from_bytes(boot[4:8],'little')
exec(line)
exec(marshal.loads(boot[8:end])if boot[:4]==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER else boot[end:])
del boot
try:
 for code in start_kernel():end_code(eval(*code))
except:on_error();raise
finally:on_exit()
