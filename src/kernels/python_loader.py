# Python of run_code or fork
import marshal,posix,sys
take=lambda n,b=b'':b if len(b)==n else take(n,b+(posix.read(3,n-len(b))or posix._exit(0)))
frame=lambda head:(head[:1],take(int.from_bytes(head[1:],'little')))
line,_,boot=frame(take(5))[1].partition(b'\n')
exec(line)
kept=[]
if boot[:4]==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER:boot=marshal.loads(boot[4:])
else:
 posix.write(3,b't\0\0\0\0')
 while 1:
  kind,boot=frame(take(5))
  if kind==b'B':break
  kept.append((kind,boot))
exec(boot)
del boot
try:
 for code in start_kernel():end_code(eval(*code))
except:on_error();raise
finally:on_exit()
