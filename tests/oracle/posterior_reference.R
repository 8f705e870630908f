# posterior_reference.R - chains, and what the R package `posterior` says about them.
#
#   Rscript tests/oracle/posterior_reference.R >tests/oracle/posterior_reference.json
#
# (Debian: apt-get install --no-install-recommends r-cran-posterior.)  tests/unit/test_convergence.c
# reads the result; nothing else needs R.  Draws are whole numbers of 1/scale, so that they, their
# medians and distances from them are exact in any arithmetic and ties are the same everywhere.
suppressMessages(library(posterior))
RNGkind("Mersenne-Twister", "Inversion", "Rejection")
set.seed(2021)

ar1 <- function(n, rho, sd = 1) as.numeric(arima.sim(list(ar = rho), n, sd = sd))
chains <- function(m, make) sapply(seq_len(m), function(c) make(c))
scale <- 65536

cases <- list(
  iid_4 = chains(4, function(c) rnorm(200)),
  iid_1 = chains(1, function(c) rnorm(100)),
  iid_2_odd = chains(2, function(c) rnorm(101)),
  iid_3_far_from_zero = chains(3, function(c) -123456 + rnorm(150)),
  ar_4 = chains(4, function(c) ar1(1000, 0.9)),
  ar_4_odd = chains(4, function(c) ar1(333, 0.9, 50) - 15000),
  ar_1_slow = chains(1, function(c) ar1(257, 0.99)),
  alternating = chains(4, function(c) ar1(128, -0.8)),
  bimodal_stuck = chains(4, function(c) ar1(200, 0.5) + 10 * (c == 3)),
  other_scale = chains(4, function(c) rnorm(200, sd = if (c == 2) 5 else 1)),
  trend = chains(4, function(c) seq(-3, 3, length.out = 120) + rnorm(120)),
  heavy_tails = chains(3, function(c) pmax(pmin(rcauchy(200), 3e4), -3e4)),
  constant = chains(4, function(c) rep(7, 50)),
  constant_apart = chains(4, function(c) rep(c %/% 2, 50)),
  one_chain_constant = chains(4, function(c) if (c == 1) rep(0.25, 64) else rnorm(64)),
  integers = chains(4, function(c) rpois(200, 3)),
  two_values_even = chains(4, function(c) rep(c(1, 2), 32)),
  rare_change = chains(4, function(c) 3 + (seq_len(150) == 20 * c)),
  short_8 = chains(4, function(c) rnorm(8)),
  short_8_one = chains(1, function(c) rnorm(8)),
  short_9_integers = chains(2, function(c) rpois(9, 2)),
  short_13 = chains(2, function(c) rnorm(13)),
  too_short_5 = chains(4, function(c) rnorm(5)),
  too_short_4 = chains(3, function(c) rnorm(4)))

# Chains that are constant have R-hat infinity; rounding makes it a very large number.
number <- function(x) if (is.na(x)) "null" else if (x > 1e12) "\"inf\"" else sprintf("%.17g", x)

describe <- function(name) {
  draws <- round(cases[[name]] * scale)
  x <- draws / scale
  measured <- suppressWarnings(c(
    mean = mean(x), sd = sd(x), rhat = rhat(x), ess_bulk = ess_bulk(x), ess_tail = ess_tail(x),
    ess_mean = ess_mean(x), mcse_mean = mcse_mean(x)))
  rows <- apply(draws, 2, function(chain) paste0("   [", paste(sprintf("%.0f", chain), collapse = ","), "]"))
  paste0(" {\"name\": \"", name, "\",\n  ",
         paste0("\"", names(measured), "\": ", sapply(measured, number), collapse = ", "),
         ",\n  \"draws\": [\n", paste(rows, collapse = ",\n"), "]}")
}

p <- c(1e-300, 1e-100, 1e-20, 1e-12, 1e-6, 0.001, 0.05, 0.0749, 0.0751, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9249,
       0.9251, 0.95, 0.999, 1 - 2^-20, 1 - 2^-53)
cat("{\"made by\": \"Rscript tests/oracle/posterior_reference.R\",\n",
    "\"posterior\": \"", as.character(packageVersion("posterior")), "\", \"R\": \"",
    as.character(getRversion()), "\", \"scale\": ", scale, ",\n",
    "\"normal_quantile\": [\n", paste(sprintf("  [%.17g, %.17g]", p, qnorm(p)), collapse = ",\n"), "],\n",
    "\"cases\": [\n", paste(sapply(names(cases), describe), collapse = ",\n"), "]}\n", sep = "")
