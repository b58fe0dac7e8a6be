# r_fresh.R - the profile of a fresh run of R: plots become pictures instead of Rplots.pdf.
#
# session_image.S joins this text with that of r_plots.R, its argument. The command line in languages.c
# names it in R_PROFILE_USER, so Rscript evaluates it before the program; the user's own profile, which R
# then does not look for, comes first. Descriptor 3 is a socket to the server in runs of run_code only.
# R cannot write to a socket, so a process of cat does it.
function(make_plots) {
  profile <- Sys.getenv("BELLJAR_R_PROFILE_USER")
  Sys.unsetenv("BELLJAR_R_PROFILE_USER")
  if (nzchar(profile)) {
    Sys.setenv(R_PROFILE_USER = profile)
  } else {
    Sys.unsetenv("R_PROFILE_USER")
    profile <- if (file.exists(".Rprofile")) ".Rprofile" else "~/.Rprofile"
  }
  if (file.exists(profile))
    sys.source(profile, globalenv())
  if (!startsWith(Sys.readlink("/proc/self/fd/3"), "socket:") || !capabilities("png"))
    return(invisible())
  output <- NULL
  plots <- make_plots(function() {
    if (is.null(output))
      output <<- pipe("exec cat >&3", "wb")
    output
  }, "/workspace")
  # close() waits until cat has passed everything on.
  show_plots <- function(...) {
    try(plots$show(0), silent = TRUE)
    if (!is.null(output))
      close(output)
  }
  options(device = plots$open_device)
  reg.finalizer(environment(), show_plots, onexit = TRUE)
  invisible()
}
