package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
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

func newProfile(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Show the profiles of the configuration file",
		Example: `  messaging profile list
  messaging profile show sandbox`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newProfileList(s), newProfileShow(s))
	return cmd
}

func newProfileList(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the profiles, without their keys",
		Example: `  messaging profile list
  messaging profile list --json=name,kind`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := output.NewRows(s.printer, profileTable)
			if err != nil {
				return err
			}
			config, err := profile.Read(os.LookupEnv)
			if err != nil {
				return err
			}
			for _, name := range append(config.Names(), profile.SandboxName) {
				found, err := findProfile(cmd.Context(), config, name)
				if err == nil {
					err = rows.Write(rowOf(found))
				}
				if err != nil {
					return err
				}
			}
			return rows.Close()
		},
	}
}

// findProfile returns a profile. Only a sandbox of this machine is called, for its port.
func findProfile(ctx context.Context, config *profile.Config, name string) (*profile.Service, error) {
	if name != profile.SandboxName {
		return config.Service(name)
	}
	ctx, end := context.WithTimeout(ctx, time.Second)
	defer end()
	running, err := profile.Resolve(ctx, name, func(variable string) (string, bool) {
		if variable == variableNames[0] || variable == variableNames[1] {
			return "", false // it is another service
		}
		return os.LookupEnv(variable)
	})
	if err != nil {
		return profile.BuiltIn(), nil
	}
	return running, nil
}

func newProfileShow(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		ValidArgsFunction: completeProfile,
		Short:             "Show a profile, without its key",
		Example: `  messaging profile show sandbox
  messaging profile show sandbox --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := profile.Read(os.LookupEnv)
			if err != nil {
				return err
			}
			found, err := findProfile(cmd.Context(), config, args[0])
			if err != nil {
				return err
			}
			return output.One(s.printer, profileTable, rowOf(found))
		},
	}
}

func newConfig(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show where the configuration file is",
		Example: `  messaging config path
  $EDITOR "$(messaging config path)"`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "path",
		Short: "Print the path of the configuration file, which need not exist",
		Example: `  messaging config path
  $EDITOR "$(messaging config path)"`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := profile.Path(os.LookupEnv)
			if err != nil {
				return exit.With(exit.Usage, "%w", err)
			}
			return s.printer.Text(path)
		},
	})
	return cmd
}
