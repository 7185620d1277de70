// Command prometheus runs the parts of Prometheus that read metrics: its scraper, storage, query engine and rule manager,
// with a configuration file of Prometheus. It has no service discovery except static targets, no UI and no remote storage,
// so that it builds in a minute.
//
// Each line of standard input is a request, and its response is one line:
//
//	{"query": "EXPRESSION"}  {"series": […]}, as in a response of /api/v1/query_range, since the start of the program
//	{"rules": true}          {"rules": [{"name": …, "health": …, "error": …, "state": …, "alerts": […]}]}
//
// An invalid query has the response {"error": "…"}. The program exits at the end of its input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

type request struct {
	Query string `json:"query"`
	Rules bool   `json:"rules"`
}

type response struct {
	Series promql.Matrix `json:"series,omitempty"`
	Rules  []rule        `json:"rules,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// rule is the state of an alert's rule.
type rule struct {
	Name   string           `json:"name"`
	Health rules.RuleHealth `json:"health"`
	Error  string           `json:"error,omitempty"`
	State  string           `json:"state"`
	// Annotations of each pending or firing alert.
	Alerts []labels.Labels `json:"alerts"`
}

// server is a running Prometheus.
type server struct {
	engine  *promql.Engine
	storage *tsdb.DB
	scraper *scrape.Manager
	rules   *rules.Manager
	started time.Time
	step    time.Duration
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prometheus CONFIG")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

func run(path string, in io.Reader, out io.Writer) error {
	folder, err := os.MkdirTemp("", "prometheus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	running, err := start(path, folder, logger)
	if err != nil {
		return err
	}
	defer running.stop()
	return running.serve(in, out)
}

// start scrapes the static targets of the configuration at path, and evaluates its rules.
func start(path, folder string, logger *slog.Logger) (*server, error) {
	configuration, err := config.LoadFile(path, false, logger)
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	storage, err := tsdb.Open(folder, logger, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, err
	}
	scraper, err := scrape.NewManager(&scrape.Options{DiscoveryReloadInterval: 1}, logger, nil, storage, metrics)
	if err != nil {
		return nil, err
	}
	if err := scraper.ApplyConfig(configuration); err != nil {
		return nil, err
	}
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- staticTargets(configuration)
	go func() { _ = scraper.Run(targets) }()

	// The limits are Prometheus' defaults.
	engine := promql.NewEngine(promql.EngineOpts{Logger: logger, MaxSamples: 50_000_000, Timeout: 2 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true})
	manager := rules.NewManager(&rules.ManagerOptions{Context: context.Background(), ExternalURL: &url.URL{}, Logger: logger,
		QueryFunc: rules.EngineQueryFunc(engine, storage), Appendable: storage, Queryable: storage, Registerer: metrics,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}})
	interval := time.Duration(configuration.GlobalConfig.EvaluationInterval)
	if err := manager.Update(interval, configuration.RuleFiles, labels.EmptyLabels(), "", nil); err != nil {
		return nil, err
	}
	go manager.Run()
	step := time.Duration(configuration.GlobalConfig.ScrapeInterval)
	return &server{engine: engine, storage: storage, scraper: scraper, rules: manager, started: time.Now(), step: step}, nil
}

func staticTargets(configuration *config.Config) map[string][]*targetgroup.Group {
	targets := map[string][]*targetgroup.Group{}
	for _, job := range configuration.ScrapeConfigs {
		for _, discovered := range job.ServiceDiscoveryConfigs {
			if static, ok := discovered.(discovery.StaticConfig); ok {
				targets[job.JobName] = append(targets[job.JobName], static...)
			}
		}
	}
	return targets
}

func (s *server) stop() {
	s.rules.Stop()
	s.scraper.Stop()
	_ = s.storage.Close()
}

func (s *server) serve(in io.Reader, out io.Writer) error {
	requests := json.NewDecoder(bufio.NewReader(in))
	responses := json.NewEncoder(out)
	for {
		var next request
		if err := requests.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decode request: %w", err)
		}
		if err := responses.Encode(s.respond(next)); err != nil {
			return fmt.Errorf("write response: %w", err)
		}
	}
}

func (s *server) respond(next request) response {
	if next.Rules {
		return response{Rules: s.states()}
	}
	series, err := s.query(next.Query)
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Series: series}
}

func (s *server) query(expression string) (promql.Matrix, error) {
	query, err := s.engine.NewRangeQuery(context.Background(), s.storage, nil, expression, s.started, time.Now(), s.step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	series, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		return nil, err
	}
	// The result is invalid after Close.
	copied := make(promql.Matrix, 0, len(series))
	for _, one := range series {
		copied = append(copied, promql.Series{Metric: one.Metric.Copy(), Floats: append([]promql.FPoint(nil), one.Floats...)})
	}
	return copied, nil
}

func (s *server) states() []rule {
	var states []rule
	for _, alert := range s.rules.AlertingRules() {
		state := rule{Name: alert.Name(), Health: alert.Health(), State: alert.State().String(), Alerts: []labels.Labels{}}
		if err := alert.LastError(); err != nil {
			state.Error = err.Error()
		}
		for _, active := range alert.ActiveAlerts() {
			state.Alerts = append(state.Alerts, active.Annotations)
		}
		states = append(states, state)
	}
	return states
}
