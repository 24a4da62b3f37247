# What R says of data sets: a line of JSON in, a line of JSON out, as examples/statistics.rs of carom-study-stats.
# Statistics that R's own packages do not have are left out.
library(jsonlite)

# Ranks: R's exact test knows no ties; beyond 60 values ours is the normal approximation with its correction.
ranks <- function(before, after) {
  large <- length(before) + length(after) > 60
  u <- wilcox.test(after, before, exact = FALSE)$statistic
  if (anyDuplicated(c(before, after)) && !large) return(list(u = u))
  list(u = u, mann_whitney = wilcox.test(after, before, exact = !large)$p.value)
}

samples <- function(before, after) {
  welch <- t.test(after, before)
  c(list(t = welch$statistic, degrees = welch$parameter, welch = welch$p.value), ranks(before, after))
}

family <- function(p) list(holm = p.adjust(p, "holm"), benjamini_hochberg = p.adjust(p, "BH"))

line <- function(formula, x, y, at) {
  fit <- lm(formula)
  whole <- summary(fit)
  f <- whole$fstatistic
  list(coefficients = unname(coef(fit)), r_squared = whole$r.squared, p = unname(pf(f[1], f[2], f[3], lower.tail = FALSE)),
       interval = as.vector(predict(fit, data.frame(x = at), interval = "prediction")[, c("lwr", "upr")]))
}

# The least squares of a curve. Its search begins where the curve through the logarithms of `y` lies.
curve_fit <- function(formula, logarithms, x, y) {
  start <- coef(lm(logarithms))
  fit <- nls(formula, start = list(a = unname(exp(start[1])), b = unname(start[2])),
             control = nls.control(maxiter = 500, tol = 1e-11, minFactor = 1e-12, warnOnly = TRUE))
  list(coefficients = unname(coef(fit)), r_squared = 1 - deviance(fit) / sum((y - mean(y))^2))
}

points <- function(x, y, at) {
  list(linear = line(y ~ x, x, y, at), logarithmic = line(y ~ log(x), x, y, at), quadratic = line(y ~ x + I(x^2), x, y, at),
       power = curve_fit(y ~ a * x^b, log(y) ~ log(x), x, y), exponential = curve_fit(y ~ a * exp(b * x), log(y) ~ x, x, y))
}

for (text in readLines(file("stdin"))) {
  set <- fromJSON(text)
  of <- if (!is.null(set$before)) samples(set$before, set$after)
        else if (!is.null(set$p)) family(set$p)
        else points(set$x, set$y, set$at)
  cat(toJSON(of, digits = I(17), auto_unbox = TRUE), "\n", sep = "")
}
