# shellcheck shell=bash
__belljar_take() {
	builtin local LC_ALL=C IFS='' TMOUT='' left="$1" part
	__belljar_taken=()
	while part=; do
		((left == 0)) || builtin read -r -d '' -n "$left" -u "$__belljar_channel" part ||
			{ builtin trap - EXIT; builtin exit 0; }
		__belljar_taken+=("$part")
		(((left -= ${#part}) == 0)) && builtin return
		((left -= 1, 1))
	done
}
__belljar_length() {
	builtin local LC_ALL=C byte shift
	__belljar_size=0
	for shift in 0 8 16 24; do
		__belljar_take 1
		builtin printf -v byte %d "'${__belljar_taken[0]}"
		((__belljar_size |= (byte & 255) << shift, 1))
	done
}
exec {__belljar_channel}<&3 3<&-
__belljar_take 1
__belljar_length
__belljar_take "$__belljar_size"
eval "${__belljar_taken[0]}"
