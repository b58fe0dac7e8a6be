# r.R - the R kernel: R's side of the protocol in sandbox/interpreter/kernel_wire.h, for sessions
# only.
#
# session_image.S joins this text with that of r_plots.R, its argument. The loader (kernel_session.c)
# evaluates both and calls the function that they return with a connection to read from. R can neither
# read nor write a descriptor that is a socket, so two processes of cat do it; they ignore SIGINT, which
# is sent to all processes of a session.
#
# Values are printed as at R's prompt, and plots become pictures when the cell ends. R 3.5 and later.
function(make_plots) function(input) {
  output <- pipe("trap '' INT; exec cat >&3", "wb")
  TEXT_MAX <- 16384L
  has_stdin <- FALSE
  stdin_file <- NULL # the connection that is descriptor 0, if a cell had input
  arguments <- NULL # of the cell
  plots <- make_plots(function() output, getwd())
  send_message <- plots$send_message
  base_arguments <- base::commandArgs

  # --- messages

  read_bytes <- function(count) {
    bytes <- readBin(input, "raw", count)
    if (length(bytes) < count)
      base::quit("no") # the server has closed the socket
    bytes
  }

  read_length <- function(bytes) sum(as.integer(bytes) * 256^(0:3))

  decode_run <- function(body) {
    at <- 0
    bytes <- function() {
      size <- read_length(body[at + 1:4])
      at <<- at + 4 + size
      body[at - size + seq_len(size)]
    }
    text <- function() {
      got <- bytes()
      got <- rawToChar(got[got != 0])
      Encoding(got) <- "UTF-8"
      got
    }
    texts <- function() vapply(seq_len(as.integer(text())), function(i) text(), "")
    text() # "cell"
    run <- list(name = text(), cwd = text(), code = text(), has_stdin = text() == "1", stdin = bytes())
    text() # the most pixels of a picture: those of png() below are fewer
    run <- c(run, list(bytes = as.numeric(text()), args = texts(), env = texts()))
    c(run, list(data_limit = if (at < length(body)) text()))
  }

  # Writes the server's mark behind all output, in which stdout() would allow no zero bytes.
  write_mark <- function(mark) {
    for (command in c("cat", "cat >&2")) {
      stream <- pipe(command, "wb")
      writeBin(mark, stream)
      close(stream)
    }
  }

  cut_text <- function(text) {
    text <- iconv(paste(enc2utf8(text), collapse = "\n"), "UTF-8", "UTF-8", sub = "byte")
    if (nchar(text, "bytes") <= TEXT_MAX)
      return(text)
    paste0(substr(text, 1, TEXT_MAX / 4), "\n... (", nchar(text) - TEXT_MAX / 4, " characters more)")
  }

  # --- before and after a cell

  # R cannot duplicate a descriptor. A file that is opened while 0 is closed becomes 0.
  set_stdin <- function(run) {
    if (run$has_stdin || has_stdin) {
      path <- "/dev/null"
      if (run$has_stdin) {
        path <- tempfile("stdin")
        writeBin(run$stdin, path)
      }
      if (is.null(stdin_file))
        getFromNamespace("closeFD", "parallel")(0L)
      else
        close(stdin_file)
      stdin_file <<- file(path, "rb", raw = TRUE)
      if (run$has_stdin)
        unlink(path)
    }
    has_stdin <<- run$has_stdin
  }

  # Sets variables of the environment. Returns a function that restores them, except those that the
  # cell itself has changed.
  set_env <- function(lines) {
    names <- sub("=.*", "", lines)
    values <- sub("^[^=]*=", "", lines)
    was <- Sys.getenv(names, NA, names = FALSE)
    if (length(names))
      do.call(Sys.setenv, as.list(stats::setNames(values, names)))
    function() {
      for (i in seq_along(names)) {
        if (!identical(Sys.getenv(names[i]), values[i]))
          next
        if (is.na(was[i]))
          Sys.unsetenv(names[i])
        else
          do.call(Sys.setenv, as.list(stats::setNames(was[i], names[i])))
      }
    }
  }

  # Sets the soft limit for data, if the memory limit has changed since this process started. R has no
  # function for that.
  set_data_limit <- function(limit) {
    if (!is.null(limit) && nzchar(Sys.which("prlimit")))
      system2("prlimit", c(paste0("--pid=", Sys.getpid()), paste0("--data=", limit, ":")), stdout = FALSE, stderr = FALSE)
  }

  # --- a cell

  evaluate_cell <- function(run, line) {
    if (nzchar(run$cwd))
      setwd(run$cwd)
    set_stdin(run)
    set_data_limit(run$data_limit)
    if (length(run$args))
      arguments <<- run$args
    lines <- strsplit(run$code, "\n", fixed = TRUE)[[1]]
    code <- parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(run$name, lines), encoding = "UTF-8")
    places <- attr(code, "srcref")
    for (i in seq_along(code)) {
      line(places[[i]][1])
      value <- withVisible(eval(code[[i]], globalenv()))
      if (value$visible && isS4(value$value))
        methods::show(value$value)
      else if (value$visible)
        print(value$value)
    }
  }

  # As Rscript reports it, and with the line of the cell.
  report_error <- function(error, calls, line) {
    call <- conditionCall(error)
    message <- conditionMessage(error)
    is_ours <- is.null(call) || identical(call[[1]], quote(parse)) || identical(call[[1]], quote(eval))
    text <- if (is_ours) paste0("Error: ", message) else paste0("Error in ", deparse(call)[1], " : ", message)
    names <- vapply(calls, function(each) deparse(each[[1]])[1], "")
    if (length(names) > 1)
      text <- c(text, paste("Calls:", paste(names, collapse = " -> ")))
    if (!is.null(line))
      text <- c(text, paste("at line", line, "of the cell"))
    send_message("e", sub("simpleError", "Error", class(error)[1]), cut_text(message), cut_text(text))
  }

  # The calls between a cell and the error, without those of this kernel and of R's own handling.
  cell_calls <- function(calls) {
    first <- which(vapply(calls, function(each) identical(each, quote(eval(code[[i]], globalenv()))), NA))
    if (!length(first))
      return(list())
    calls <- calls[-seq_len(first[1] + 1)] # eval() calls itself
    is_handler <- function(each) is.function(each[[1]]) || deparse(each[[1]])[1] %in% c(".handleSimpleError", "h", "stop")
    Filter(function(each) !is_handler(each), calls)
  }

  # A warning of the cell itself would be reported as one of eval().
  print_warning <- function(warning) {
    if (!identical(conditionCall(warning), quote(eval(code[[i]], globalenv()))) || getOption("warn") != 1)
      return(NULL)
    cat("Warning: ", conditionMessage(warning), "\n", sep = "", file = stderr())
    invokeRestart("muffleWarning")
  }

  run_cell <- function(run) {
    restore_env <- set_env(run$env)
    line <- NULL
    calls <- list()
    fail <- function(error) {
      # A cell can make a condition whose methods fail, or whose message is no text.
      tryCatch(report_error(error, calls, line),
               error = function(failure) send_message("e", class(error)[1], "", "Error (its message cannot be shown)"))
      1L
    }
    run_code <- function() {
      withCallingHandlers(
        allowInterrupts(evaluate_cell(run, function(number) line <<- number)),
        error = function(error) calls <<- cell_calls(sys.calls()),
        warning = print_warning
      )
      0L
    }
    interrupted <- function(condition) {
      send_message("e", "Interrupt", "the cell was interrupted", "Interrupt: the cell was interrupted")
      1L
    }
    status <- withRestarts(tryCatch(run_code(), error = fail, interrupt = interrupted),
                           belljar_quit = function(status) bitwAnd(as.integer(status), 255L))
    tryCatch(plots$show(run$bytes), error = function(error) NULL)
    flush(stdout())
    restore_env()
    send_message("x", status, 0, 0, 0, 0, 0)
  }

  # Functions of the cells: quit() ends the cell and not the session.
  quit <- function(save = "default", status = 0, runLast = TRUE) invokeRestart("belljar_quit", status)
  command_arguments <- function(trailingOnly = FALSE) {
    if (trailingOnly)
      return(as.character(arguments))
    c(base_arguments()[1], "--args", arguments)
  }
  # R's own function would close the connections of this kernel too.
  close_connections <- function() {
    if (sink.number(type = "message") > 0)
      sink(stderr(), type = "message")
    while (sink.number() > 0)
      sink()
    own <- vapply(Filter(Negate(is.null), list(input, output, stdin_file)), as.integer, 0L)
    for (number in setdiff(getAllConnections(), c(0:2, own)))
      close(getConnection(number))
    invisible()
  }
  unlockBinding("closeAllConnections", baseenv())
  assign("closeAllConnections", close_connections, envir = baseenv())
  lockBinding("closeAllConnections", baseenv())
  attach(list(q = quit, quit = quit, commandArgs = command_arguments), name = "belljar", warn.conflicts = FALSE)

  options(warn = 1) # at once: R would wait for the end of a top-level call, and this one has none
  if (capabilities("png"))
    options(device = plots$open_device)
  suspendInterrupts({
    send_message("r", paste(R.version$major, R.version$minor, sep = "."))
    repeat {
      header <- read_bytes(5)
      body <- read_bytes(read_length(header[2:5]))
      if (header[1] == charToRaw("R"))
        run_cell(decode_run(body))
      else
        write_mark(body)
    }
  })
}
