# count_comment <- function(x) x
wordbag <- function(text, lower = TRUE, sep = "[^[:alnum:]]+", ...) {
  count_inner <- function() NULL
  structure(list(words = strsplit(if (lower) tolower(text) else text, sep)[[1]]), class = "wordbag")
}
print.wordbag <- function(x, ..., n = 10L) invisible(x)
`[.wordbag` <- function(x, i) x$words[i]
`top<-` <- function(x, value) { x$words <- c(value, x$words); x }
`%similar%` <- function(a, b) mean(a$words %in% b$words)
count_words = function(x) table(x$words)
count_letters <- count_chars <- function(x, "of" = r"(a"b)") nchar(x)
bag_old <- function(x) wordbag(x)
nowhere <- function() NULL
setClass("Weighted", representation(weights = "numeric"))
setGeneric("weight", function(object, ...) standardGeneric("weight"))
setMethod("weight", "Weighted", function(object, ...) object@weights)
