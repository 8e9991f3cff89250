package mail

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// matcher returns where a token of a message has what a finding is about, or -1.
type matcher func(html.Token) int

// element matches an element by an attribute.
func element(name atom.Atom, attribute, value string) matcher {
	return func(t html.Token) int {
		if t.DataAtom == name && valueOf(t, attribute) == value {
			return 0
		}
		return -1
	}
}

// named matches elements by their name.
func named(name atom.Atom) matcher {
	return func(t html.Token) int {
		if t.Type != html.TextToken && t.DataAtom == name {
			return 0
		}
		return -1
	}
}

// styled matches a style, of an element or for all of them.
func styled(style *regexp.Regexp) matcher {
	return func(t html.Token) int {
		text := valueOf(t, "style") + ";"
		if t.Type == html.TextToken {
			text = t.Data
		}
		switch at := style.FindStringIndex(styleText(text)); {
		case at == nil:
			return -1
		case t.Type != html.TextToken:
			return 0
		default:
			return max(0, at[1]-len("\n")-1) // within the style, and not before it
		}
	}
}

// styleText returns styles as they are compared, one line break longer.
func styleText(styles string) string {
	blank := func(comment string) string { return strings.Repeat(" ", len(comment)) }
	return "\n" + strings.ToLower(cssComment.ReplaceAllStringFunc(styles, blank))
}

func valueOf(t html.Token, attribute string) string {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Key, attribute) {
			return a.Val
		}
	}
	return ""
}

// locate sets where the findings are. Of the texts, only those of styles are matched.
func locate(message string, findings []Finding) {
	var left []*Finding
	for i := range findings {
		if f := &findings[i]; f.is != nil {
			f.At, left = -1, append(left, f)
		}
	}
	at, inStyle := 0, false
	for tokens := html.NewTokenizer(strings.NewReader(message)); len(left) > 0; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return
		}
		size := len(tokens.Raw()) // before the token, which changes it
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.TextToken && inStyle {
			token := tokens.Token()
			left = slices.DeleteFunc(left, func(f *Finding) bool {
				within := f.is(token)
				if within >= 0 {
					f.At = at + min(within, size-1)
				}
				return within >= 0
			})
			inStyle = kind == html.StartTagToken && token.DataAtom == atom.Style
		}
		at += size
	}
}
