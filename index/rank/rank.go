// Package rank decides how well a text answers a question, and says why. It is shared by the search of code, of
// skills, and of a registry.
//
//   - Text is cut into terms ([Terms]): identifiers whole and in their parts (camel case, snake case), words by their
//     stem, all in lower case, at most 64 bytes. Terms of a text and of a question ([Ask]) are made by the same code.
//   - A score ([Scorer]) is the sum of named parts, each explainable: BM25F over six fields, and what is known besides
//     words, such as an exact name. Equal input gives equal scores on every platform.
//   - A pack ([Pack]) is a choice of the best that fits limits, with advice how to go on. Its confidence is a probability,
//     fitted to packs of which the answer is known ([Fit]), not an opinion.
//   - It is pure, keeps no text, and may be used concurrently. A question has at most 128 terms of 4 KiB; 64 KiB of a
//     body and 16 KiB of other fields are looked at.
//
// The fields of a pack and the rules when to stop are those of the code index that this one replaces. Its
// order by chance, its camel case as a single word and its guessed confidence are not.
package rank
