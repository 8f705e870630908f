# posterior.R FILE.csv... - what the R package posterior says of chains that `phloem export --to stan-csv`
# wrote: one line for each figure.
suppressMessages(library(posterior))
read <- function(path) {
  lines <- readLines(path)
  fact <- function(key) as.integer(sub(paste0(".*", key, " = ([0-9]+).*"), "\\1", grep(key, lines, value = TRUE)[1]))
  rows <- read.csv(text = grep("^#", lines, invert = TRUE, value = TRUE), check.names = FALSE)
  rows[seq_len(fact("num_samples")) + fact("num_warmup"), ]
}
chains <- lapply(commandArgs(trailingOnly = TRUE), read)
for (name in c("log_joint", "log_likelihood", "active", "sum_size")) {
  x <- sapply(chains, function(chain) chain[[name]])
  figures <- c(rhat = rhat(x), ess_bulk = ess_bulk(x), ess_tail = ess_tail(x), mcse = mcse_mean(x), mean = mean(x))
  for (key in names(figures)) cat(name, key, format(figures[[key]], digits = 17), "\n")
}
