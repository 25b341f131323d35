// Servers that people write and run software with.
import type { ServerLines } from "./build.ts";

export const CODE_SERVERS: readonly ServerLines[] = [
  {
    id: "github",
    name: "GitHub",
    style: "snake",
    own: `
search_code | Search source code across repositories with GitHub's code search syntax. | query: Search expression; language: Only files in this language; repo: owner/name
get_file_contents | Read a file or directory of a repository at a branch, tag or commit. | owner: Account that owns the repository; repo: Name of the repository; path: Path inside it; ref: Branch, tag or commit
push_files | Commit several files to a branch in one commit. | owner: Owner; repo: Repository; branch: Target branch; message: Commit message
fork_repository | Fork a repository to your account or an organization. | owner: Owner; repo: Repository; organization: Where the fork goes
create_branch | Create a branch from another one. | owner: Owner; repo: Repository; branch: Name of the new branch; from_branch: Where it starts
list_commits | List commits of a branch. | owner: Owner; repo: Repository; sha: Branch or commit to start from; author: Only commits by this person
merge_pull_request | Merge a pull request, by merge commit, squash or rebase. | pull_number: Number of the pull request; merge_method: merge, squash or rebase
get_pull_request_diff | The unified diff of a pull request. | pull_number: Number of the pull request
create_pull_request_review | Submit a review with inline comments: approve, comment or request changes. | pull_number: Number of the pull request; event: APPROVE, COMMENT or REQUEST_CHANGES; body: Summary
rerun_failed_jobs | Run the failed jobs of a workflow run again. | run_id: Id of the workflow run
get_job_logs | Download the log output of a CI job. | job_id: Id of the job; tail_lines: Lines from the end
list_code_scanning_alerts | Security alerts that code scanning found in a repository. | severity: Only alerts of this severity; state: open, dismissed or fixed`,
    things: `
issue | issues | a bug report or a request in a repository | title, body, labels, assignee, milestone, state | comment close reopen search
pull request | pull requests | a proposed change from one branch to another | title, body, head, base, draft, state | comment close
release | releases | a tagged version with notes and downloads | tag name, name, body, draft, prerelease |
workflow run | workflow runs | an execution of a GitHub Actions workflow | workflow, branch, event, status | cancel
repository secret | repository secrets | an encrypted value that workflows can read | name, value, environment |
gist | gists | a snippet of code with an address of its own | description, files, public | comment`
  },
  {
    id: "gitlab",
    name: "GitLab",
    style: "camel",
    own: `
acceptMergeRequest | Merges an open merge request once its pipeline succeeds. | projectId: Project; mergeRequestIid: Merge request; squash: Squash commits
retryPipeline | Retries all failed jobs of a pipeline. | projectId: Project; pipelineId: Pipeline
playManualJob | Starts a manual job of a pipeline. | projectId: Project; jobId: Job
getRawFile | Raw contents of a repository file. | projectId: Project; filePath: Path; ref: Branch or tag
compareRefs | Differences between two branches, tags or commits. | projectId: Project; from: Base; to: Head
protectBranch | Restricts who may push to or merge into a branch. | projectId: Project; branch: Branch; pushAccessLevel: Role
getMergeRequestChanges | Files changed by a merge request with their diffs. | projectId: Project; mergeRequestIid: Merge request
listProjectMembers | People with access to a project and their roles. | projectId: Project; query: Name
addProjectMember | Gives a person access to a project. | projectId: Project; userId: User; accessLevel: Role
triggerPipeline | Starts a new pipeline for a branch with variables. | projectId: Project; ref: Branch; variables: Key and value pairs
downloadArtifacts | The artifacts archive of a job. | projectId: Project; jobId: Job
cherryPickCommit | Applies a commit to another branch. | projectId: Project; sha: Commit; branch: Target`,
    things: `
merge request | merge requests | a proposal to merge one branch into another | title, description, source branch, target branch, reviewer | comment approve close
project issue | project issues | work to be done in a project | title, description, labels, weight, due date | close move
epic | epics | a group of issues over several projects | title, description, start date, labels |
pipeline schedule | pipeline schedules | a pipeline that runs at set times | description, ref, cron |
CI variable | CI variables | a setting that jobs can read | key, value, masked, environment scope |
container image | container images | an image in the registry of a project | repository, tag |
deploy token | deploy tokens | a credential with which a server may pull from a project | name, scopes, expires at |`
  },
  {
    id: "sentry",
    name: "Sentry",
    style: "snake",
    own: `
find_error_events | Search error events with stack traces by message, release, or user. | query: Search expression; project: Project; period: Such as 24h or 14d
get_stacktrace | The stack trace of an event with source context and local variables. | event_id: Event
resolve_error_group | Mark a group of errors as resolved, now or in the next release. | group_id: Group of errors; in_release: Release
ignore_error_group | Stop notifying about a group of errors for some time or until it happens more often. | group_id: Group of errors; minutes: How long
get_error_frequency | How often an error happened per hour or day, and how many users it affected. | group_id: Group of errors; interval: hour or day
find_slow_transactions | Transactions with the worst response times (p95). | project: Project; period: Period
get_trace | All spans of a distributed trace. | trace_id: Trace
upload_source_maps | Upload source maps of a release, so that minified stack traces can be read. | release: Release; file: Archive
list_suspect_commits | Commits that probably caused an error. | group_id: Group of errors
get_crash_free_rate | Share of sessions and users without a crash, per release. | project: Project; release: Release
get_replay | A recording of what the user did before an error. | replay_id: Replay
analyze_root_cause | Ask the debugging agent for the probable root cause and a fix. | group_id: Group of errors`,
    things: `
alert rule | alert rules | a condition upon which people are notified | name, query, threshold, project | copy
monitored project | monitored projects | an application that reports errors | name, platform, team | archive
release | releases | a version of an application | version, commits, environment |
cron monitor | cron monitors | watches whether a scheduled job runs in time | name, schedule, timezone | count
team | teams | a group of people that owns projects | name, slug, project | assign
error dashboard | error dashboards | charts about errors and performance | title, widgets, period | copy share export history`
  },
  {
    id: "kubernetes",
    name: "Kubernetes cluster",
    style: "kebab",
    own: `
get-pod-logs | Print the logs of a container in a pod. | namespace: Namespace; pod: Pod; container: Container; tail: Lines from the end
exec-in-pod | Run a command inside a container. | namespace: Namespace; pod: Pod; command: Command with arguments
scale-deployment | Set the number of replicas of a deployment. | namespace: Namespace; deployment: Deployment; count: Replicas
rollout-restart | Restart all pods of a deployment, one after the other. | namespace: Namespace; deployment: Deployment
rollout-undo | Go back to the previous revision of a deployment. | namespace: Namespace; deployment: Deployment; revision: Revision
apply-manifest | Create or change resources from YAML. | manifest: YAML document; dry_run: Only validate
describe-resource | Details and recent events of any resource. | kind: Kind; name: Name; namespace: Namespace
top-pods | CPU and memory that pods use now. | namespace: Namespace; sort: cpu or memory
top-nodes | CPU and memory that nodes use now. | sort: cpu or memory
drain-node | Evict all pods from a node before maintenance. | node: Node
port-forward | Open a tunnel from a local port to a pod. | pod: Pod; port: Port
helm-install | Install a Helm chart. | chart: Chart; release: Name of the release; values: YAML`,
    things: `
pod | pods | the smallest unit that runs containers | name, image, namespace, labels |
deployment | deployments | keeps a number of identical pods running | name, image, replicas, namespace | history
service | services | a stable address for pods | name, selector, port, namespace |
config map | config maps | settings as key-value pairs | name, data, namespace |
ingress | ingresses | routes HTTP traffic from outside to services | name, host, path, namespace |
persistent volume claim | persistent volume claims | a request for storage | name, size, storage class, namespace |
namespace | namespaces | separates resources of teams | name, labels | count export`
  },
  {
    id: "warehouse",
    name: "Postgres warehouse",
    style: "snake",
    own: `
run_sql | Run a read-only SQL query and return the rows. | sql: The statement; limit: The most rows
explain_query | The execution plan of a SQL statement, with costs. | sql: The statement; is_analyze: Also run it
describe_table | Columns, types, indexes and constraints of a table. | schema: Schema; table: Table
list_tables | Tables and views of a schema with their row counts. | schema: Schema
list_schemas | Schemas of the database. | database: Database
find_slow_queries | Statements that took the most time, from pg_stat_statements. | limit: How many
kill_session | Terminate a database session. | pid: Process id
list_locks | Who holds locks and who waits for them. | schema: Schema
suggest_indexes | Propose indexes that would make a workload faster. | sql: Statements
vacuum_table | Reclaim storage of dead rows and refresh statistics. | table: Table
import_csv | Load a CSV file into a table. | table: Table; file: Address of the file
backup_database | Make a dump of the database. | database: Database; format: plain or custom`,
    things: `
saved query | saved queries | a SQL statement with a name | name, sql, description, owner | copy share search
materialized view | materialized views | stored results of a query | name, sql, schema | history
database role | database roles | an account with privileges | name, password, privileges |
scheduled report | scheduled reports | a query whose results are mailed | name, sql, cron, recipients | cancel copy
data source | data sources | a connection to a database | name, host, port, user |
column mask | column masks | hides personal data in a column | table, column, method |
snapshot | snapshots | a copy of the database at one time | name, database, retention | restore
data quality check | data quality checks | a condition that rows must meet | name, table, condition |`
  }
];
