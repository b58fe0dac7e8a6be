# bash.sh - the Bash kernel: Bash's side of the protocol in sandbox/interpreter/kernel_wire.h, for
# sessions only.
#
# The loader (bash_loader.sh) has moved the channel from descriptor 3, which scripts use themselves,
# to the one in __belljar_channel. It has defined __belljar_take, which reads so many bytes into the
# array __belljar_taken, one element for each part between zero bytes, and __belljar_length, which
# reads a length into __belljar_size. `read -d ''` is used because it shows where a zero byte was,
# which a variable cannot hold.
#
# Cells are read by `source` at the top level of this shell: in a function, `declare` would make
# local variables, and `eval` has no line numbers in its messages. All that makes a shell exit (exit,
# set -e, set -u, the trap of SIGINT) ends in the trap of EXIT. This trap writes the state of the
# shell down and replaces the process by a new shell with the same state, so that the session goes
# on. Descriptors, working directory, limits and children belong to the process and stay. A trap of
# EXIT that a cell sets is kept in a variable, and run in a subshell when a cell exits.
#
# Functions of the kernel run with options, IFS and locale of their own, and call all builtins, which
# a cell may have replaced by functions, as `builtin NAME`; only functions named `builtin` or `command` are fatal.
# `builtin local` splits the values of its variables, and the redirections of `builtin exec` do not
# last: hence `command exec`. Bash 4.4 and later.
#
# shellcheck shell=bash
# shellcheck disable=SC2016 # commands for the next shell
# shellcheck disable=SC2064 # the arguments of trap are those of the cell
# shellcheck disable=SC2034,SC2154 # the loader and the trap of EXIT set and use variables
command exec {__belljar_out}>&1 {__belljar_err}>&2 # for marks: cells may redirect 1 and 2
__belljar_is_running=0
__belljar_is_interrupted=0 # SIGINT came before the cell began
__belljar_had_stdin=0 # descriptor 0 is the input of the last cell
__belljar_status=0    # of the last cell
__belljar_exit=       # the trap of EXIT that a cell has set
__belljar_set=        # those of the options e, x and v that cells have set
__belljar_sigint="trap -- 'builtin exit 130' INT"
__belljar_env=() # of each variable for this cell only: name, value, command that restores it
builtin shopt -s expand_aliases

# Sends a message. Its fields are numbers and short words.
__belljar_send() {
	builtin local LC_ALL=C field size=0 text='' head
	for field in "${@:2}"; do
		builtin printf -v head '\\x%02x\\x00\\x00\\x00%s' "${#field}" "$field"
		text+=$head
		((size += 4 + ${#field}))
	done
	builtin printf -v head '%s\\x%02x\\x00\\x00\\x00' "$1" "$size"
	builtin printf %b "$head$text" >&"$__belljar_channel"
}

__belljar_take_field() {
	__belljar_length
	__belljar_take "$__belljar_size"
}

# Reads a field into the variable $1, without zero bytes.
__belljar_take_text() {
	__belljar_take_field
	builtin printf -v "$1" %s "${__belljar_taken[@]}"
}

# Reads a list into the array __belljar_list.
__belljar_take_list() {
	builtin local count item
	__belljar_list=()
	__belljar_take_text count
	while ((count-- > 0)); do
		__belljar_take_text item
		__belljar_list+=("$item")
	done
}

# Prints what was taken.
__belljar_print() {
	builtin local last="$((${#__belljar_taken[@]} - 1))"
	((last == 0)) || builtin printf '%s\0' "${__belljar_taken[@]:0:last}"
	builtin printf %s "${__belljar_taken[last]}"
}

# Makes what was taken the standard input, if the cell has one.
__belljar_set_stdin() {
	if (($1)); then
		command exec < <(__belljar_print)
	elif ((__belljar_had_stdin)); then
		command exec </dev/null
	fi
	__belljar_had_stdin=$1
}

# Sets variables for one cell. A local variable would hide one of the same name.
__belljar_set_env() {
	__belljar_env=()
	while (($# > 0)); do
		__belljar_env+=("${1%%=*}" "${1#*=}" "$(builtin declare -p "${1%%=*}")")
		builtin declare -gx "$1"
		builtin shift
	done
}

# Restores the variables of a cell, except those that the cell itself has changed.
__belljar_restore_env() {
	while (($# > 0)); do
		if [[ ${!1-} == "$2" ]]; then
			builtin unset -v "$1"
			builtin eval "${3/#declare /builtin declare -g }"
		fi
		builtin shift 3
	done
	__belljar_env=()
}

# Reads a RUN message, and the code into __belljar_code.
__belljar_take_cell() {
	builtin local word cwd code args='' has_stdin
	__belljar_take_text word # "cell"
	__belljar_take_text word # the name of the cell
	__belljar_take_text cwd
	__belljar_take_text code
	__belljar_take_text has_stdin
	__belljar_take_field
	__belljar_set_stdin "$has_stdin"
	__belljar_take_text word # pixels of pictures
	__belljar_take_text word # bytes of pictures
	__belljar_take_list
	((${#__belljar_list[@]} == 0)) || builtin printf -v args ' %q' "${__belljar_list[@]}"
	__belljar_take_list
	__belljar_set_env "${__belljar_list[@]}"
	[[ -z $cwd ]] || builtin cd -- "$cwd" || code='builtin return 1'
	# In a function `set` would change its own arguments, and the kernel's options.
	__belljar_code="${__belljar_set:+builtin set -$__belljar_set; }${args:+builtin set --$args; }$code"
}

# Ends a cell that has left the kernel's loop by `break`, or begun its next turn by `continue`.
__belljar_end_left() {
	builtin printf '%s\n' 'bash: break or continue outside of a loop: the rest of the cell was not run' \
		>&"$__belljar_err"
	__belljar_end 1
}

# Serves the server until it sends a cell, and sets $? to the status of the last one.
__belljar_next() {
	((__belljar_is_running == 0)) || __belljar_end_left
	builtin local - IFS=$' \t\n' type
	builtin set +uf
	while ((1)); do
		__belljar_take 1
		type=${__belljar_taken[0]}
		__belljar_length
		[[ $type != R ]] || builtin break
		__belljar_take "$__belljar_size"
		__belljar_print >&"$__belljar_out"
		__belljar_print >&"$__belljar_err"
		__belljar_is_interrupted=0 # the signal was for the cell whose end is marked
	done
	__belljar_take_cell
	((__belljar_is_interrupted == 0)) || __belljar_code='builtin return 130'
	__belljar_is_running=1
	builtin eval "$__belljar_sigint"
	builtin return "$__belljar_status"
}

# Reports the end of a cell.
__belljar_end() {
	__belljar_sigint=$(builtin trap -p INT)
	builtin trap __belljar_is_interrupted=1 INT
	__belljar_set=${-//[^exv]/}
	builtin set +exv
	builtin local - IFS=$' \t\n'
	builtin set +uf
	__belljar_status=$1
	__belljar_restore_env "${__belljar_env[@]}"
	__belljar_is_running=0
	__belljar_send x "$1" 0 0 0 0 0
}

# Replaces the builtin, which would replace the kernel's own trap of EXIT. Subshells have none.
trap() {
	{
		builtin local - __belljar_command="${1-}" __belljar_signal __belljar_others __belljar_is_exit=0
		builtin set +xv
		__belljar_others=()
	} 2>/dev/null
	if ((BASH_SUBSHELL > 0 || $# == 0)) || [[ $1 == -[lp]* ]]; then
		builtin trap "$@"
		builtin return
	fi
	if [[ $1 == -- ]]; then
		builtin shift
		__belljar_command=${1-}
	fi
	if (($# == 1)); then
		__belljar_command=-
	else
		builtin shift
	fi
	for __belljar_signal; do
		case ${__belljar_signal^^} in
		EXIT | SIGEXIT | 0) __belljar_is_exit=1 ;;
		# When a function returns, Bash restores these if the function has reset them.
		DEBUG | ERR | RETURN)
			if [[ $__belljar_command == - ]]; then
				builtin trap : "$__belljar_signal"
			else
				builtin trap -- "$__belljar_command" "$__belljar_signal"
			fi
			;;
		*) __belljar_others+=("$__belljar_signal") ;;
		esac
	done
	((__belljar_is_exit == 0)) || __belljar_exit=${__belljar_command#-}
	((${#__belljar_others[@]} == 0)) || builtin trap -- "$__belljar_command" "${__belljar_others[@]}"
}

# Runs the trap of EXIT that a cell has set, once. In a subshell, as it may call exit.
__belljar_run_exit() {
	builtin local command="$__belljar_exit"
	__belljar_exit=
	[[ -z $command ]] || (
		builtin set +e
		(builtin exit "$__belljar_status")
		builtin eval "$command"
	)
}

# Writes down the state of the shell as commands, and replaces the shell. Functions may need their
# shopt options when they are parsed. Errors are hidden, because some variables are read-only. If a
# function has called exit, its local variables become global.
__belljar_leave() {
	__belljar_taken=() __belljar_set=${-//[^exv]/}
	__belljar_state=$(
		builtin printf '%s\n' 'command exec 62<&- {__belljar_file}<&- {__belljar_file}>&2 2>/dev/null'
		builtin shopt -p
		builtin declare -p
		builtin declare -f
		builtin alias -p
		builtin printf '%s\n' 'builtin unset -f trap' "$__belljar_traps"
		builtin declare -f trap
		(($# == 0)) || builtin printf '%s\n' "builtin set -- ${*@Q}"
		builtin set +o # knows nothing of -e here: Bash clears it in $()
		builtin printf '%s\n' "${__belljar_set:+builtin set -$__belljar_set}" \
			'((__belljar_is_running == 0)) || __belljar_end "$__belljar_status"' \
			'command exec 2>&"$__belljar_file" {__belljar_file}>&-' 'builtin eval "$__belljar_main"'
	)
	builtin trap : INT
	command exec {__belljar_file}<<<"$__belljar_state"
	command exec "$BASH" -c "$__belljar_resume" bash "$__belljar_file"
}

__belljar_resume='__belljar_file=$1
IFS= builtin read -r -d "" -u "$1" __belljar_state
builtin eval "$__belljar_state"'
# In a function `trap -p` does not know the traps of ERR and DEBUG.
builtin trap '__belljar_status=$? __belljar_traps=$(builtin trap -p); __belljar_run_exit; __belljar_leave "$@"' EXIT
builtin trap __belljar_is_interrupted=1 INT
# A trap of ERR ignores what fails in front of `&&`.
__belljar_main='while ((1)); do
	{ __belljar_next; } 2>/dev/null && builtin :
	builtin . /dev/fd/62 62<<<"$__belljar_code"
	{ __belljar_end "$?"; } 2>/dev/null
done
builtin eval "$__belljar_main"'
__belljar_send r "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}"
builtin eval "$__belljar_main"
