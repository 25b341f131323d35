// Servers that people organise their work with.
import type { ServerLines } from "./build.ts";

export const WORK_SERVERS: readonly ServerLines[] = [
  {
    id: "jira",
    name: "Jira",
    style: "noun-first",
    own: `
jql_search | Search work items with JQL. | jql: JQL expression; fields: Fields to return
transition_issue | Move a work item through its workflow, such as to In Progress or Done. | issue_key: Such as OPS-12; transition: Name of the transition
log_work | Record time spent on a work item. | issue_key: Such as OPS-12; minutes: Time spent; comment: What was done
link_issues | Link two work items, such as "blocks" or "duplicates". | from_key: First; to_key: Second; link_type: Type
get_sprint_burndown | Remaining work per day of a sprint. | sprint_id: Sprint
rank_backlog | Change the order of items in the backlog. | board_id: Board; keys: Keys in their new order
start_sprint | Start a planned sprint. | sprint_id: Sprint; goal: Goal
complete_sprint | Finish a sprint and move open items to another. | sprint_id: Sprint; move_to: Next sprint
add_watcher | Let a person be notified about a work item. | issue_key: Such as OPS-12; user: Person
add_attachment | Attach a file to a work item. | issue_key: Such as OPS-12; file: Address of the file
get_velocity | Story points that a team completed in past sprints. | board_id: Board
bulk_edit | Change a field of many work items at once. | jql: Which; field: Field; value: Value`,
    things: `
issue | issues | a work item: story, bug or task | summary, description, priority, assignee, sprint, status | comment assign
sprint | sprints | a fixed period of work | name, goal, start date, end date, board |
board | boards | a view of work items in columns | name, type, filter |
version | versions | a release that items are fixed in | name, release date, project | archive
component | components | a part of a project | name, lead, project |
filter | filters | a saved search | name, jql, owner | share
automation rule | automation rules | does something when a work item changes | name, trigger, action, state | copy`
  },
  {
    id: "linear",
    name: "Linear",
    style: "snake",
    own: `
my_issues | Issues that are assigned to you, grouped by status. | cycle: Only this cycle; status: Status
triage_issue | Accept, decline or snooze an issue of the triage inbox. | issue: Identifier such as ENG-42; decision: accept, decline or snooze
set_estimate | Set the estimate of an issue in points. | issue: Identifier such as ENG-42; count: Points
add_issue_relation | Say that an issue blocks, duplicates or relates to another. | issue: Identifier; other: Identifier; relation: Kind
subscribe_to_issue | Get notified of changes of an issue. | issue: Identifier
set_issue_parent | Make an issue a sub-issue of another. | issue: Identifier; parent: Identifier
get_cycle_progress | Scope, started and completed points of a cycle. | team: Team; cycle: Number
post_project_update | Write a status update about a project with its health: on track, at risk, off track. | project: Project; health: Health; body: Text
find_similar_issues | Issues that may be duplicates of a text. | text: Title or description
convert_message_to_issue | Make an issue of a chat message. | url: Address of the message; team: Team
set_priority | Set the priority of an issue, from none to urgent. | issue: Identifier; priority: Priority
assign_to_cycle | Put an issue into a cycle. | issue: Identifier; cycle: Number`,
    things: `
issue | issues | a piece of work of a team | title, description, team, assignee, status, label | comment search archive
project | projects | a larger effort with a target date | name, description, lead, target date, status | archive
cycle | cycles | a repeating period of work of a team | team, number, starts at, ends at |
initiative | initiatives | a goal that several projects serve | name, owner, target date |
milestone | milestones | a step of a project | name, project, target date |
issue label | issue labels | a category of issues | name, color, team |
custom view | custom views | a saved filter of issues | name, filter, team | share`
  },
  {
    id: "asana",
    name: "Asana",
    style: "camel",
    own: `
completeTask | Check a task off. | taskId: Task
setDueDate | Set or clear the due date of a task. | taskId: Task; date: Date
addSubtask | Add a step below a task. | taskId: Task; name: Name
addDependency | A task cannot start before another is done. | taskId: Task; dependsOn: Task
addFollowers | Keep people informed about a task. | taskId: Task; people: People
getMyTasks | Your tasks that are due today, soon or later. | section: today, upcoming or later
getWorkload | How much work each person of a team has per week. | teamId: Team; week: Week
createFromTemplate | Set up a project from a template. | templateId: Template; name: Name
moveToSection | Put a task into another column of a project. | taskId: Task; sectionId: Section
setCustomField | Set a custom field of a task. | taskId: Task; field: Field; value: Value
uploadAttachment | Attach a file to a task. | taskId: Task; file: File
listOverdueTasks | Tasks of a project that are past their due date. | projectId: Project`,
    things: `
task | tasks | something a person has to do | name, notes, assignee, project, due date | comment copy search
project | projects | a list or board of tasks | name, notes, team, owner, color | copy archive
section | sections | a column or heading in a project | name, project | move
portfolio | portfolios | several projects at a glance | name, owner, color | share
goal | goals | what a team wants to reach in a quarter | name, owner, period, metric |
status update | status updates | a report on how a project goes | title, text, project, status |
tag | tags | a word to find tasks by | name, color |`
  },
  {
    id: "notion",
    name: "Notion",
    style: "kebab",
    own: `
search-workspace | Find pages and databases by title or content. | query: Words; type: page or database
query-database | Rows of a database that match a filter, sorted. | database: Database; filter: Filter; sorts: Sorting
append-blocks | Add paragraphs, lists, headings or code at the end of a page. | page: Page; content: Markdown
read-page-as-markdown | The whole text of a page. | page: Page
set-page-icon | Set the emoji or cover of a page. | page: Page; emoji: Emoji
create-database-row | Add a row to a database with its properties. | database: Database; properties: Properties
add-database-property | Add a column to a database. | database: Database; name: Name; type: Type
get-backlinks | Pages that link to a page. | page: Page
create-from-template | Make a page from a template. | template: Template; parent: Parent page
lock-page | Keep others from changing a page. | page: Page
publish-page | Put a page on the web. | page: Page; slug: Address
mention-person | Notify a person on a page. | page: Page; person: Person`,
    things: `
page | pages | a document in the workspace | title, parent, content | archive restore move copy share history comment
database | databases | a table of pages | title, parent, properties | copy
block | blocks | a paragraph, list, image or other piece of a page | page, type, content | move
comment | comments | a remark on a page or block | page, text, thread |
workspace member | workspace members | a person who may use the workspace | name, email, role |
teamspace | teamspaces | an area of the workspace for a team | name, description, members |`
  },
  {
    id: "hr",
    name: "PeopleHub",
    style: "noun-first",
    own: `
request_time_off | Ask for days off: vacation, sick leave or unpaid. | employee: Person; from: First day; to: Last day; kind: Kind
get_leave_balance | Days off that a person has left this year. | employee: Person
who_is_out | Who is absent on a day or in a week. | date: Day; team: Team
get_org_chart | Who reports to whom. | manager: Person at the top
run_payroll | Calculate and pay the salaries of a month. | month: Month; is_preview: Only calculate
get_payslip | The payslip of a person for a month. | employee: Person; month: Month
change_compensation | Set a new salary with a date from which it holds. | employee: Person; amount: Yearly amount; from: Date
start_onboarding | Begin the checklist for a new hire. | employee: Person; start: First day
start_offboarding | Begin the checklist for a person who leaves. | employee: Person; last_day: Last day
schedule_interview | Set up a conversation with a candidate. | candidate: Candidate; interviewers: People; time: Time
send_offer_letter | Send a candidate the contract to sign. | candidate: Candidate; amount: Salary; start: First day
record_sick_day | Note that a person is ill. | employee: Person; date: Day`,
    things: `
employee | employees | a person who works here | name, email, department, manager, location | search export
candidate | candidates | a person who applied for a job | name, email, job, stage | reject comment move
job opening | job openings | a position that is to be filled | title, department, location, hiring manager | close
performance review | performance reviews | a manager's assessment of a period | employee, period, rating | approve
leave request | leave requests | days off that wait for a decision | employee, from, to, kind | approve reject cancel
training course | training courses | something that people learn | title, provider, duration |
expense policy | expense policies | what may be spent on what | name, category, limit |`
  }
];
