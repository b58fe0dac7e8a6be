# kotlin_run.sh - runs the archive that kotlin_compile.sh has made, or else a script: $1 is the path of
# kotlinc, $2 the file, $3 the archive, $4 the option for the memory of the JVM, then the arguments.
run=$1 file=$2 jar=$3 ram=$4
shift 4
[ ! -f "$jar" ] || exec java "$ram" -XX:MaxRAMPercentage=50 -XX:MaxJavaStackTraceDepth=200 -ea -jar "$jar" "$@"
cp "$file" "$file"s
exec "$run" -script "$file"s "$@"
