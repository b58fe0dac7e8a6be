# java_run.sh - runs the program that java_compile.sh has compiled, or else snippets: $0 is
# java_snippets.java, $1 the path of java, $2 the file, $3 the file with the name of the class, $4 the
# option for the memory of the JVM, then the arguments. Java cannot see the limit of a cgroup from
# inside, and would size its heap by the machine's memory. Two options halve the time in which snippets
# start. -ea: an `assert` is checked. The trace of a StackOverflowError has 200 lines, and not 1024.
run=$1 file=$2 class=$3 ram=$4 dir=${2%/*}
shift 4
if [ -f "$class" ]; then
  set -- -cp "$dir:${CLASSPATH:-.}" "$(cat "$class")" "$@"
else
  printf %s "$0" >"$dir/Snippets.java"
  set -- -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$dir/Snippets.java" "$file" "$@"
fi
exec "$run" "$ram" -XX:MaxRAMPercentage=50 -XX:MaxJavaStackTraceDepth=200 -ea "$@"
