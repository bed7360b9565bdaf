package lang

// A scriptKind is the kind of a token of JavaScript or TypeScript.
type scriptKind uint8

const (
	sEOF scriptKind = iota
	sIdent
	sPrivate // #name
	sNumber
	sString
	sRegexp
	sTemplate     // without substitution
	sTemplateHead // `…${; its mate is the next part
	sTemplateMid  // }…${
	sTemplateTail // }…`
	sParen        // (
	sParenEnd
	sBracket // [
	sBracketEnd
	sBrace // {
	sBraceEnd
	sLess // <; its mate is the > that closes a type list, if there is one
	sMore // >
	sComma
	sColon
	sSemi
	sDot
	sOptDot // ?.
	sSpread // ...
	sQuestion
	sArrow
	sAssign // = alone
	sStar
	sBar
	sAmp
	sPlus // + and -
	sIncDec
	sNot // ! and ~
	sAt
	sBinary    // any other operator between two operands
	sJSX       // < that begins an element; its mate is the last token of the element
	sJSXClose  // </ that begins a closing tag
	sJSXEnd    // > that ends a tag
	sJSXSelf   // /> that ends a tag
	sJSXName   // a name in a tag, with its hyphens
	sOther     // anything else
	sFirstWord // reserved words follow
	wBreak
	wCase
	wCatch
	wClass
	wConst
	wContinue
	wDebugger
	wDefault
	wDelete
	wDo
	wElse
	wEnum
	wExport
	wExtends
	wFinally
	wFor
	wFunction
	wIf
	wImport
	wIn
	wInstanceof
	wNew
	wReturn
	wSwitch
	wThrow
	wTry
	wTypeof
	wVar
	wVoid
	wWhile
	wWith
	wThis // words that are operands
	wSuper
	wNull
	wTrue
	wFalse
	wAbstract // words that are names where the grammar does not want them
	wAccessor
	wAs
	wAsserts
	wAsync
	wAwait
	wDeclare
	wGet
	wGlobal
	wImplements
	wInfer
	wInterface
	wIs
	wKeyof
	wLet
	wModule
	wNamespace
	wOf
	wOut
	wOverride
	wPrivate
	wProtected
	wPublic
	wReadonly
	wSatisfies
	wSet
	wStatic
	wType
	wUnique
	wUsing
	wYield
)

// name says that a token can be an identifier.
func (k scriptKind) name() bool { return k == sIdent || k >= wAbstract }

// word says that a token can be the name of a property.
func (k scriptKind) word() bool { return k == sIdent || k > sFirstWord }

func scriptWord(w []byte) scriptKind {
	if len(w) < 2 || len(w) > 10 || w[0] < 'a' || w[0] > 'y' {
		return sIdent
	}
	switch string(w) {
	case "break":
		return wBreak
	case "case":
		return wCase
	case "catch":
		return wCatch
	case "class":
		return wClass
	case "const":
		return wConst
	case "continue":
		return wContinue
	case "debugger":
		return wDebugger
	case "default":
		return wDefault
	case "delete":
		return wDelete
	case "do":
		return wDo
	case "else":
		return wElse
	case "enum":
		return wEnum
	case "export":
		return wExport
	case "extends":
		return wExtends
	case "finally":
		return wFinally
	case "for":
		return wFor
	case "function":
		return wFunction
	case "if":
		return wIf
	case "import":
		return wImport
	case "in":
		return wIn
	case "instanceof":
		return wInstanceof
	case "new":
		return wNew
	case "return":
		return wReturn
	case "switch":
		return wSwitch
	case "throw":
		return wThrow
	case "try":
		return wTry
	case "typeof":
		return wTypeof
	case "var":
		return wVar
	case "void":
		return wVoid
	case "while":
		return wWhile
	case "with":
		return wWith
	case "this":
		return wThis
	case "super":
		return wSuper
	case "null":
		return wNull
	case "true":
		return wTrue
	case "false":
		return wFalse
	case "abstract":
		return wAbstract
	case "accessor":
		return wAccessor
	case "as":
		return wAs
	case "asserts":
		return wAsserts
	case "async":
		return wAsync
	case "await":
		return wAwait
	case "declare":
		return wDeclare
	case "get":
		return wGet
	case "global":
		return wGlobal
	case "implements":
		return wImplements
	case "infer":
		return wInfer
	case "interface":
		return wInterface
	case "is":
		return wIs
	case "keyof":
		return wKeyof
	case "let":
		return wLet
	case "module":
		return wModule
	case "namespace":
		return wNamespace
	case "of":
		return wOf
	case "out":
		return wOut
	case "override":
		return wOverride
	case "private":
		return wPrivate
	case "protected":
		return wProtected
	case "public":
		return wPublic
	case "readonly":
		return wReadonly
	case "satisfies":
		return wSatisfies
	case "set":
		return wSet
	case "static":
		return wStatic
	case "type":
		return wType
	case "unique":
		return wUnique
	case "using":
		return wUsing
	case "yield":
		return wYield
	}
	return sIdent
}
