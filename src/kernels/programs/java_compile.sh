# java_compile.sh - compiles a Java program: $1 is the path of java, $2 the file, $3 a file for the name
# of the class that has main(), $4 the option for the memory of the JVM. Code without main() is not
# compiled: java_snippets.java runs it. javac wants a file to have the name of its public class, and
# the code may be indented as a whole.
javac=$1c file=$2 dir=${2%/*}
grep -Eq '(^|[^[:alnum:]_])main[[:space:]]*\(' "$file" || exit 0
[ -x "$javac" ] || javac=javac
kind='((final|abstract|sealed|strictfp|public) +)*(class|interface|enum|record) +'
indent=$(sed -nE "s/^([[:space:]]*)$kind.*/\\1/p" "$file" | head -n 1)
public=$(sed -nE "s/^${indent}public +$kind([[:alnum:]_\$]+).*/\\4/p" "$file" | head -n 1)
main=$(sed -nE "h; s/^$indent$kind([[:alnum:]_\$]+).*/\\4/p; g
  /void +main[[:space:]]*\\(/q" "$file" | tail -n 1)
package=$(sed -nE 's/^[[:space:]]*package +([[:alnum:]_.]+) *;.*/\1./p' "$file" | head -n 1)
source=$dir/${public:-Main}.java
[ "$file" = "$source" ] || cp "$file" "$source"
"$javac" "-J$4" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -d "$dir" "$source" || exit
printf %s "$package${main:-Main}" >"$3"
