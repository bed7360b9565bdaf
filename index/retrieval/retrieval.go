// Package retrieval measures how well the index finds what is asked for, against what people use without one, and how far the guidance of
// packs can be believed. It holds tests only. testdata/bench/guidance.sh measures guidance on the repositories of testdata/bench/repositories.txt
// (exam_test.go, guidance_test.go): of its questions half have no answer, since it was taken out or they are of another repository.
//
// The other questions are made from files that every machine with Go has, and from two more corpora where they are at hand:
//
//	S1 name, lower, half, method, package, raw   the name of a definition as it is, in lower case, with a word forgotten,
//	                                             with its type, with its package, and with both in one word
//	S2 references                                where a name is used
//	S3 sentence, strict, python                  what a function does, in the words of its documentation, which the indexed copy lacks
//	S4 commit                                    the message of a commit; its files, in the state before it
//	S5 exact, filled                             an error message as a test has it, with and without values filled in
//	S6 test                                      the words of a test's name; the function under test
//	S7 literal, regex                            every file that has the text
//	S0 name, sentence                            what the corpus does not have
//
// They are measured on the index and on four ways of doing without it: the definitions of a tags file, FTS5 with bm25 over
// chunks of 50 lines, files ranked by how many words of the question they have (as with ripgrep), and unranked search with
// the words as they are (the behaviour that this index replaces).
//
//   - Questions are drawn with fixed seeds. Packages, modules and commits are divided by a hash of their name into those that
//     weights may be tuned on and those that judge; the results in testdata are of the judging half.
//   - The truth comes from go/ast, Python's own ast and git, not from this project's scanners.
//   - A rank is found if one of the first ten answers is right. A span is right if it holds the first line of the truth, or
//     lies within it; spans of more than 200 lines never are.
//   - Tokens are those of chunk.Tokens: what a reader has to read until the truth is included, 8,000 where that is more or never.
//
// TestRetrieval runs a part of the questions over a part of the library. The environment variable SKL_TEST_RETRIEVAL=full
// makes it use all; SKL_TEST_RETRIEVAL=tune prints coefficients for index/rank, from the tuning half. The flag -misses names a file to write what
// was not found to, and -update rewrites testdata/results.json. Results are compared with that file only where the inputs
// are the same: the version of Go, of Python, of the modules, the history. The gates of the index hold always.
package retrieval
