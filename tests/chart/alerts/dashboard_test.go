package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const dashboardFile = "../../../charts/trainmesh/files/dashboard.json"

// Rows of the dashboard, in order.
var rows = []string{"Webhook", "Fabric", "Gangs", "Controller", "Jobs", "Findings", "Resources"}

type dashboard struct {
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name     string `json:"name"`
			AllValue string `json:"allValue"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Targets     []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Overrides []struct {
			Matcher struct {
				Options string `json:"options"`
			} `json:"matcher"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
}

// problems checks one panel.
func (p panel) problems(documented string) []string {
	var found []string
	if p.Description == "" {
		found = append(found, "no description")
	}
	for _, target := range p.Targets {
		expression, err := parser.ParseExpr(withoutVariables.Replace(target.Expr))
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		grouping := groupedLabels(expression)
		for _, name := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
			if !slices.Contains(grouping, name[1]) {
				found = append(found, "the legend uses the label "+name[1]+", which the query does not group by")
			}
		}
		if !legendWord.MatchString(target.LegendFormat) {
			found = append(found, "the legend is not in words: "+target.LegendFormat)
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			for _, name := range variables {
				// Only trainmesh's own series have the namespace and the job of its servers.
				own := strings.HasPrefix(selector.Name, "trainmesh_")
				if (own || name == "cluster") && !slices.ContainsFunc(selector.LabelMatchers, isVariable(name)) {
					found = append(found, "a selector ignores the variable "+name+": "+selector.String())
				}
			}
			return nil
		})
	}
	// A name without documentation that is no legend either is probably misspelled, and then no series gets the override.
	for _, override := range p.FieldConfig.Overrides {
		isLegend := false
		for _, target := range p.Targets {
			isLegend = isLegend || target.LegendFormat == override.Matcher.Options
		}
		if isLegend {
			continue
		}
		for _, name := range strings.Split(override.Matcher.Options, ": ") {
			if !strings.Contains(documented, "`"+name+"`") && !strings.Contains(documented, "## "+name+"\n") {
				found = append(found, "undocumented label value "+name)
			}
		}
	}
	return found
}

var (
	withoutVariables = strings.NewReplacer("$__rate_interval", "1m", "$__range", "6h", "$cluster", "cluster", "$namespace", "namespace", "$job", "job")
	legendLabel      = regexp.MustCompile(`{{(\w+)}}`)
	// A label, or a word that is not an abbreviation such as p99.
	legendWord = regexp.MustCompile(`{{|\pL{3,}|CA`)
)

// variables of the dashboard, which are named as the labels that they select.
var variables = []string{"cluster", "namespace", "job"}

func isVariable(name string) func(*labels.Matcher) bool {
	return func(matcher *labels.Matcher) bool {
		return matcher.Name == name && matcher.Type == labels.MatchRegexp && matcher.Value == name
	}
}

func groupedLabels(expression parser.Expr) []string {
	var grouping []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			grouping = append(grouping, aggregate.Grouping...)
		}
		return nil
	})
	return grouping
}

func TestDashboard(t *testing.T) {
	board := readDashboard(t)
	var documented string
	for _, page := range []string{"operations", "rules", "termination", "diagnose"} {
		text, err := os.ReadFile("../../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		documented += string(text)
	}
	var titles []string
	for _, panel := range board.Panels {
		if panel.Type == "row" {
			titles = append(titles, panel.Title)
			continue
		}
		if len(panel.Targets) == 0 {
			t.Errorf("panel %q has no query", panel.Title)
		}
		for _, problem := range panel.problems(documented) {
			t.Errorf("panel %q: %s", panel.Title, problem)
		}
	}
	if !slices.Equal(titles, rows) {
		t.Errorf("rows are %q, expected %q", titles, rows)
	}
	listed := map[string]string{}
	for _, variable := range board.Templating.List {
		listed[variable.Name] = variable.AllValue
	}
	for _, name := range variables {
		// Unlike Grafana's own value, this also matches series without the label.
		if listed[name] != ".*" {
			t.Errorf("variables are %q, expected %s with all values as .*", listed, name)
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	return board
}
