# r_plots.R - messages of R to the server (sandbox/interpreter/kernel_wire.h), and plots as pictures; for
# the kernel of sessions (r.R) and for fresh runs (r_fresh.R).
#
# open_device() is R's default device: its plots become files of a temporary directory. show() saves
# them below .belljar of the workspace, `home`, and tells the server; a picture of more than `most` bytes
# (0: any) is not shown. `output` returns the connection to write to.
function(output, home) {
  devices <- integer() # numbers of the devices whose plots become pictures
  plots <- file.path(tempdir(), "belljar-plots")

  length_bytes <- function(count) writeBin(as.integer(count), raw(), endian = "little")

  send_message <- function(type, ...) {
    body <- raw()
    for (field in list(...)) {
      bytes <- charToRaw(enc2utf8(as.character(field)))
      body <- c(body, length_bytes(length(bytes)), bytes)
    }
    writeBin(c(charToRaw(type), length_bytes(length(body)), body), output())
    flush(output())
  }

  open_device <- function(...) {
    dir.create(plots, showWarnings = FALSE)
    grDevices::png(file.path(plots, paste0(as.hexmode(as.integer(Sys.time())), "-%04d.png")),
                   width = 960, height = 720, res = 120)
    devices <<- c(devices, grDevices::dev.cur())
  }

  show_picture <- function(path, most) {
    size <- file.size(path)
    if (most > 0 && size > most) {
      text <- sprintf("(a picture of %.0f bytes is not shown: the most is %.0f; make it simpler)", size, most)
      return(send_message("v", "text/plain", text, ""))
    }
    folder <- file.path(home, ".belljar")
    dir.create(folder, showWarnings = FALSE)
    number <- 1
    while (!file.copy(path, name <- file.path(folder, sprintf("image-%d.png", number)), overwrite = FALSE)) {
      if (!file.exists(name))
        return(NULL) # the disk is full
      number <- number + 1
    }
    send_message("v", "image/png", "", name)
  }

  show <- function(most) {
    for (device in intersect(devices, grDevices::dev.list()))
      grDevices::dev.off(device)
    devices <<- integer()
    for (path in list.files(plots, full.names = TRUE))
      show_picture(path, most)
    unlink(plots, recursive = TRUE)
  }

  list(send_message = send_message, open_device = open_device, show = show)
}
