package glob

var Alternatives = alternatives
