# kotlin_compile.sh - compiles a Kotlin program: $1 is the path of kotlinc, $2 the file, $3 the archive
# to make. A script, which has no main() or calls it itself, is not compiled.
if grep -Eq '(^|[[:space:]])fun +main[[:space:]]*\(' "$2" && ! grep -Eq '^main *\(' "$2"; then
  exec "$1" "$2" -include-runtime -d "$3"
fi
