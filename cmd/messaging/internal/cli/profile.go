package cli

import (
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// profileRow is a profile. It never holds a key.
type profileRow struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	BaseURL       string   `json:"base_url"`
	KeySource     string   `json:"key_source"`
	MaxRecipients int      `json:"max_recipients"`
	Allow         []string `json:"allow"` // null allows everyone
	Rate          float64  `json:"rate"`  // requests a second; 0 means no limit
}

var profileTable = output.Table[profileRow]{
	Columns: []output.Column[profileRow]{
		{Name: "name", Text: func(p profileRow) string { return p.Name }},
		{Name: "kind", Text: func(p profileRow) string { return p.Kind }},
		{Name: "base_url", Text: func(p profileRow) string { return p.BaseURL }},
		{Name: "key", Text: func(p profileRow) string { return p.KeySource }},
		{Name: "max_recipients", Text: func(p profileRow) string { return strconv.Itoa(p.MaxRecipients) }},
		{Name: "allow", Text: allowText},
		{Name: "rate", Text: rateText},
	},
	Fields: output.FieldsOf(profileRow{}),
}

func allowText(p profileRow) string {
	if p.Allow == nil {
		return "everyone"
	}
	return strings.Join(p.Allow, ", ")
}

func rateText(p profileRow) string {
	if p.Rate == 0 {
		return "no limit"
	}
	return strconv.FormatFloat(p.Rate, 'f', -1, 64) + "/s"
}

// rowOf describes a profile.
func rowOf(s *profile.Service) profileRow {
	return profileRow{Name: s.Name, Kind: string(s.Kind), BaseURL: s.BaseURL, KeySource: s.KeySource,
		MaxRecipients: s.MaxRecipients, Allow: s.Allow, Rate: float64(s.Rate)}
}

func newProfileList(s *settings) *cobra.Command {
	return list[profileRow]{
		use: "list", short: "List the profiles, without their keys",
		example: `  messaging profile list
  messaging profile list --json=name,kind`,
		table: profileTable,
		rows: func(call) iter.Seq2[profileRow, error] {
			config, err := profile.Read(os.LookupEnv)
			if err != nil {
				return failed[profileRow](err)
			}
			var rows []profileRow
			for _, name := range config.Names() {
				found, err := config.Service(name)
				if err != nil {
					return failed[profileRow](err)
				}
				rows = append(rows, rowOf(found))
			}
			return ofSlice(append(rows, rowOf(profile.BuiltIn())), nil)
		},
	}.command(s)
}
