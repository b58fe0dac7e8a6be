# Python of run_code or fork
import marshal,posix,sys
def take(n):
 b=bytearray(n);v=memoryview(b)
 while v:v=v[posix.readv(3,[v])or posix._exit(0):]
 return b
frame=lambda head:(head[:1],take(int.from_bytes(head[1:],'little')))
boot=frame(take(5))[1]
at=boot.find(b'\n')+1
exec(boot[:at])
kept=[]
if boot[at:at+4]==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER:boot=marshal.loads(memoryview(boot)[at+4:])
else:
 posix.write(3,b't\0\0\0\0')
 while 1:
  kind,boot=frame(take(5))
  if kind==b'B':break
  kept.append((bytes(kind),bytes(boot)))
exec(boot)
del boot
try:
 for code in start_kernel():end_code(eval(*code))
except:on_error();raise
finally:on_exit()
