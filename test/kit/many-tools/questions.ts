// What users ask, with the tool that answers it, and what a model would search for next when the question itself has not
// found it. The questions were written before the index was first run, and were not changed to suit it.

export interface ToolQuestion {
  /** `server/tool`; several where each of them answers the question. */
  readonly tools: readonly string[];
  readonly question: string;
  readonly then: string;
}

const QUESTIONS = `
github/create_issue | Please file a bug in our GitHub repo: the login button does nothing on Safari. | create GitHub issue
github/merge_pull_request | The PR number 481 looks fine to me, squash it and get it into main. | merge pull request squash
github/get_job_logs | Why did the last CI job on GitHub fail? Show me its output. | CI job log output
github/search_code | Where in our code do we call the deprecated parseDate function? | search source code for a function name
github/create_release | Cut version 2.4.0 on GitHub with the notes from the changelog. | create release with notes
gitlab/retryPipeline | The GitLab pipeline failed because of a flaky runner, try it again. | retry failed pipeline jobs
gitlab/createMergeRequest | Open an MR in GitLab from feature/login into develop. | create merge request
gitlab/addProjectMember | Ada just joined. Let her push to the payments project on GitLab. | add a person to a project
gitlab/createCiVariable | Our GitLab jobs need the NPM_TOKEN, can you store it there? | set CI variable
gitlab/compareRefs | What is different between the v1 and v2 tags in GitLab? | diff between two tags
sentry/get_stacktrace | Where exactly does the code blow up in that Sentry event? | stack trace of an error event
sentry/resolve_error_group | We shipped the fix for that crash, mark it as done in Sentry. | resolve error in Sentry
sentry/find_slow_transactions | Which of our endpoints are the slowest this week? | slow transactions response time
sentry/ignore_error_group | Stop bothering me about this Sentry error for an hour. | mute notifications of an error group
sentry/list_suspect_commits | Which commit is to blame for the new exception? | suspect commits of an error
kubernetes/get-pod-logs | Show me what the checkout pod has been printing in the last minutes. | pod logs
kubernetes/scale-deployment | We expect a lot of traffic tonight, run ten instances of the web deployment. | scale replicas of a deployment
kubernetes/rollout-undo | The last deployment in the cluster is broken, go back to the version before. | roll back deployment revision
kubernetes/top-nodes | Is any machine of the cluster running out of memory? | node CPU memory usage
kubernetes/exec-in-pod | Run "env" inside the api container. | execute command in container
warehouse/run_sql | How many orders did we have per country last month? Query the warehouse. | run SQL query
warehouse/explain_query | Why is this SELECT so slow? Show me its query plan. | execution plan of SQL statement
warehouse/list_locks | Something is blocking our writes in Postgres. Who holds the lock? | database locks
warehouse/import_csv | Load this CSV into the customers table. | import CSV file into table
warehouse/describe_table | Which columns does the invoices table have? | table columns and types
jira/issue_create | Create a story in Jira for the new export button. | Jira create issue
jira/transition_issue | OPS-12 is finished, move it to Done. | change status of Jira work item
jira/log_work | I spent two hours on OPS-98 today, put that down. | record time spent
jira/get_velocity | How many story points do we usually finish per sprint? | team velocity story points
jira/complete_sprint | Our sprint is over, wrap it up and carry the rest over to the next one. | finish sprint move open items
linear/create_issue | Add a ticket to Linear: dark mode flickers when switching tabs. | Linear create issue
linear/my_issues | What is on my plate in Linear right now? | issues assigned to me
linear/set_priority | Make ENG-42 urgent. | set issue priority
linear/find_similar_issues | Has somebody reported this already in Linear? "App freezes on upload" | find duplicate issues
linear/post_project_update | Tell everyone that the Atlas project is at risk, as a project update. | post project status update health
asana/completeTask | Check off "Order the cake" in Asana. | complete task
asana/listOverdueTasks | What is late in the office move project? | overdue tasks of a project
asana/setDueDate | Push the deadline of the poster task to Friday. | change due date of task
asana/getWorkload | Who in the design team has too much to do next week? | team workload per person
asana/createFromTemplate, asana/createProject | Set up a new Asana project for the June campaign from our launch template. | create project from template
notion/read-page-as-markdown, notion/get-page | Read me our onboarding page in Notion. | Notion page content
notion/create-database-row | Add "Grace Hopper" to the applicants table in Notion. | add row to database
notion/append-blocks | Write these minutes at the bottom of the team page. | append text to a Notion page
notion/search-workspace | Is there anything about parental leave in our Notion? | search Notion pages
notion/publish-page | Make the FAQ page in Notion public on the internet. | publish page to web
hr/request_time_off | I want to take the first week of August off. | request vacation days
hr/get_leave_balance | How many holidays do I have left? | remaining leave balance
hr/who_is_out | Who is absent tomorrow? | employees out of office on a day
hr/get_payslip | I need my salary statement for March. | payslip
hr/schedule_interview | Set up a talk between Ada and the candidate for the backend position. | schedule interview with candidate
slack/post_message | Tell #general that the deploy is done. | post message to Slack channel
slack/send_direct_message | Ping Bob privately and ask him for the numbers. | direct message to a person
slack/search_messages | Find what Carol said about the budget in Slack last week. | search Slack messages
slack/schedule_message | Post "Standup in five minutes" in #team tomorrow at 8:55. | schedule message for later
slack/add_reaction | Give Dan's announcement a thumbs up. | add emoji reaction to message
gmail/sendEmail | Email the contract to legal@example.com. | send email with attachment
gmail/searchEmails | Did I get a mail from the landlord about the heating? | search inbox
gmail/setVacationResponder | Turn on my auto-reply while I'm in Italy. | automatic out of office answer email
gmail/unsubscribe | I never want to get this newsletter again. | unsubscribe from mailing list
gmail/forwardEmail | Pass that message from the bank on to my accountant. | forward email
calendar/find-free-slots | When can Ada, Bob and I meet for an hour this week? | find time when everyone is free
calendar/create-event, calendar/quick-add | Put a dentist appointment into my calendar on Tuesday at 9. | create calendar event
calendar/respond-to-invitation | Accept the invitation to the all-hands. | respond to event invitation
calendar/book-room | Get us a conference room for the planning meeting. | reserve meeting room
calendar/list-upcoming, calendar/list-events | What do I have on today? | upcoming events today
drive/files_search | Find the budget spreadsheet in Drive. | search files in Drive
drive/create_share_link, drive/file_share | Give me a link to the deck that anyone can open. | create sharing link for file
drive/read_spreadsheet_range | What is in cells A1 to D20 of the forecast sheet? | read spreadsheet cells
drive/append_spreadsheet_rows | Add today's figures as a new line to the sales sheet. | append row to spreadsheet
drive/revoke_access, drive/permission_delete | The contractor has left, they should not see the roadmap file any more. | remove person's access to file
zoom/get_meeting_transcript | What exactly did the customer say in yesterday's Zoom call? | meeting transcript
zoom/get_meeting_summary | I missed the Zoom meeting. What was decided and what are the next steps? | meeting summary
zoom/create_meeting | Set up a Zoom with the supplier on Thursday at 3 pm. | create Zoom meeting
zoom/list_participants | Who attended the training on Zoom? | meeting participants attendance
zoom/download_recording | I need the video file of last week's webinar. | download meeting recording
stripe/refund_payment | The customer was charged twice, give them their money back. | refund payment
stripe/cancel_subscription | ACME wants to end their subscription at the end of the month. | cancel subscription
stripe/send_invoice | Mail the bill to ACME. | send invoice to customer
stripe/get_balance | How much money is in our Stripe account? | account balance
stripe/create_coupon | Make a 20 percent discount for new customers in Stripe. | create coupon discount
shopify/fulfillOrder | Order 1007 went out with DHL this morning, note the tracking number. | mark order as shipped
shopify/getInventoryLevels | How many blue mugs do we have in stock? | inventory units in stock
shopify/trackShipment | Where is the parcel with the number 00340? | track shipment
shopify/getSalesByProduct | What sells best in the shop this month? | best selling products
shopify/updateProduct | Raise the price of the red T-shirt in the shop to 25 euros. | change product price Shopify
salesforce/convert_lead | The lead from the fair is qualified, turn it into an opportunity. | convert lead
salesforce/log_call | I just talked to Grace from ACME on the phone, write that down in Salesforce. | log phone call with contact
salesforce/get_pipeline_forecast | How much revenue do we expect this quarter from the open deals? | pipeline forecast revenue
salesforce/accounts_search | Do we have ACME in Salesforce already? | search accounts
salesforce/advance_stage | ACME has signed: move the deal to Closed Won. | change opportunity stage
zendesk/reply_to_ticket | Answer ticket 5512 that the fix is live. | reply to support ticket
zendesk/add_internal_note | Leave a remark for the other agents on ticket 5512 that the customer must not see. | internal note on ticket
zendesk/get_satisfaction_ratings | Are customers happy with our support lately? | customer satisfaction ratings
zendesk/merge_tickets | These two tickets are about the same thing, make one of them. | merge duplicate tickets
zendesk/get_sla_breaches | Which support requests are we about to answer too late? | SLA breaches
travel/search-flights | How can I fly from Berlin to Lisbon on May 3rd? | find flights
travel/get-weather-forecast | Do I need an umbrella in London this weekend? | weather forecast rain
travel/get-flight-status | Is LH 1172 delayed? | flight status delay
travel/convert-currency | What are 300 dollars in yen? | convert currency
travel/book-hotel-room | Take the double room at the Grand for two nights. | book hotel room
`;

export const TOOL_QUESTIONS: readonly ToolQuestion[] = QUESTIONS.trim()
  .split("\n")
  .map((line) => {
    const [tools = "", question = "", then = ""] = line.split("|").map((cell) => cell.trim());
    return { tools: tools.split(",").map((tool) => tool.trim()), question, then };
  });
