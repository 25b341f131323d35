// Servers for messages, files and time.
import type { ServerLines } from "./build.ts";

export const OFFICE_SERVERS: readonly ServerLines[] = [
  {
    id: "slack",
    name: "Slack",
    style: "snake",
    own: `
post_message | Post a message to a channel. | channel: Channel; text: Text, in mrkdwn; thread_ts: Answer in this thread
send_direct_message | Write to a person privately. | user: Person; text: Text
schedule_message | Post a message at a later time. | channel: Channel; text: Text; post_at: Time
read_channel_history | Latest messages of a channel. | channel: Channel; limit: How many; oldest: Since
read_thread | All answers in a thread. | channel: Channel; thread_ts: First message of the thread
add_reaction | React to a message with an emoji. | channel: Channel; timestamp: Message; name: Emoji
search_messages | Find messages by words, person, channel and date. | query: Search expression; sort: score or timestamp
set_status | Set your status text and emoji. | text: Text; emoji: Emoji; until: Until when
pin_message | Pin a message to its channel. | channel: Channel; timestamp: Message
invite_to_channel | Add people to a channel. | channel: Channel; users: People
set_do_not_disturb | Mute notifications for some time. | minutes: How long
open_huddle | Start an audio call in a channel. | channel: Channel`,
    things: `
channel | channels | a room for messages about a subject | name, topic, purpose, is private | archive search
user group | user groups | people that can be mentioned together | name, handle, members |
reminder | reminders | a note that comes back at a set time | text, time, user |
canvas | canvases | a document shared in a channel | title, content, channel | share
bookmark | bookmarks | a link at the top of a channel | title, link, channel |
workflow | workflows | steps that run when something happens | name, trigger, steps | copy
shared file | shared files | a file that was posted | title, channel, file type | search share`
  },
  {
    id: "gmail",
    name: "Gmail",
    style: "camel",
    own: `
sendEmail | Sends an email with optional attachments. | to: Recipients; subject: Subject; body: Text; cc: Copies; attachments: Files
replyToEmail | Answers a message in its thread. | messageId: Message; body: Text; replyAll: Answer all
forwardEmail | Passes a message on to others. | messageId: Message; to: Recipients; note: Text in front
searchEmails | Finds messages with Gmail's search operators. | query: Such as from:ada has:attachment; limit: How many
readEmail | The text, headers and attachments of a message. | messageId: Message
markAsRead | Marks messages as read or unread. | messageIds: Messages; read: Yes or no
moveToTrash | Puts messages into the trash. | messageIds: Messages
reportSpam | Marks messages as spam. | messageIds: Messages
downloadAttachment | The contents of an attachment. | messageId: Message; attachmentId: Attachment
setVacationResponder | Turns the automatic out-of-office answer on or off. | text: Text; from: First day; to: Last day
snoozeEmail | Hides a message until later. | messageId: Message; until: Time
unsubscribe | Leaves the mailing list that a message came from. | messageId: Message`,
    things: `
draft | drafts | a message that was not sent | to, subject, body | copy
label | labels | a category of messages | name, color, visibility |
mail filter | mail filters | does something with incoming messages | from, subject, action | export
thread | threads | messages that belong together | subject, participants, label | archive
signature | signatures | text below each message that is sent | name, text, address |
send-as address | send-as addresses | another address to send from | address, name, reply to |
contact | contacts | a person with addresses | name, email, phone, company | search export copy tag`
  },
  {
    id: "calendar",
    name: "Google Calendar",
    style: "kebab",
    own: `
find-free-slots | Times at which all of several people are free. | people: People; from: From; to: To; minutes: Duration
respond-to-invitation | Accept, decline or tentatively accept an event. | event: Event; response: accepted, declined or tentative
add-guests | Invite more people to an event. | event: Event; guests: People
check-busy | When people are busy. | people: People; from: From; to: To
quick-add | Make an event from a sentence. | text: Such as "Lunch with Ada tomorrow at noon"
move-event | Put an event at another time or into another calendar. | event: Event; start: New start; calendar: Calendar
set-working-hours | Hours in which you work and where. | hours: Hours per weekday; location: Location
add-video-call | Put a link to a video meeting into an event. | event: Event
book-room | Reserve a meeting room for an event. | event: Event; room: Room
list-upcoming | The next events of today or this week. | limit: How many; until: Until
set-out-of-office | Decline meetings automatically while you are away. | from: First day; to: Last day
export-ics | A calendar as an iCalendar file. | calendar: Calendar`,
    things: `
event | events | something at a time, with guests | title, start, end, location, guests, description | search cancel copy
calendar | calendars | a set of events | name, timezone, color | share
appointment schedule | appointment schedules | a page where others book time with you | title, duration, availability | share
meeting room | meeting rooms | a room that can be reserved | name, building, capacity | search
event reminder | event reminders | a notice before an event | event, minutes, method |
calendar subscription | calendar subscriptions | a calendar of others that is shown | address, color |
focus block | focus blocks | time without meetings | start, end, repeat | cancel`
  },
  {
    id: "drive",
    name: "Google Drive",
    style: "noun-first",
    own: `
upload_file | Store a file in a folder. | name: Name; content: Contents; folder: Folder
download_file | The contents of a file, converted if wanted. | file: File; format: Such as pdf or docx
read_document_text | The text of a document, spreadsheet or PDF. | file: File
append_spreadsheet_rows | Add rows at the end of a sheet. | spreadsheet: Spreadsheet; range: Range; values: Rows
read_spreadsheet_range | Cells of a sheet. | spreadsheet: Spreadsheet; range: Such as A1:D20
write_spreadsheet_range | Set cells of a sheet. | spreadsheet: Spreadsheet; range: Range; values: Cells
revoke_access | Take a person's access to a file away. | file: File; person: Person
create_share_link | An address with which anyone can open a file. | file: File; role: viewer, commenter or editor
empty_trash | Delete everything in the trash for good. | drive: Drive
get_storage_usage | Space that is used and free. | account: Account
convert_to_pdf | Make a PDF of a document. | file: File
star_file | Mark a file with a star. | file: File`,
    things: `
file | files | anything that is stored | name, folder, mime type, owner | search copy move restore share history comment
folder | folders | holds files and other folders | name, parent, owner | share move
shared drive | shared drives | files that belong to a team | name, members |
document | documents | a text that several people write | title, content, folder | export
permission | permissions | who may do what with a file | file, person, role |
revision | revisions | an earlier version of a file | file, modified by |`
  },
  {
    id: "zoom",
    name: "Zoom",
    style: "snake",
    own: `
get_meeting_transcript | What was said in a recorded meeting, with speakers. | meeting: Meeting
get_meeting_summary | A summary of a meeting with next steps. | meeting: Meeting
start_instant_meeting | Begin a video meeting now. | topic: Topic
end_meeting | End a meeting for everybody. | meeting: Meeting
list_participants | Who took part in a meeting and how long. | meeting: Meeting
mute_participant | Turn a participant's microphone off. | meeting: Meeting; participant: Participant
admit_from_waiting_room | Let somebody in who waits. | meeting: Meeting; participant: Participant
download_recording | The video or audio file of a meeting. | meeting: Meeting; kind: video or audio
create_breakout_rooms | Divide participants into groups. | meeting: Meeting; count: Rooms
get_poll_results | How participants answered a poll. | meeting: Meeting; poll: Poll
send_meeting_chat | Write to participants during a meeting. | meeting: Meeting; text: Text
live_stream_meeting | Broadcast a meeting to a streaming service. | meeting: Meeting; url: Stream address`,
    things: `
meeting | meetings | a planned video conversation | topic, start time, duration, passcode, host | cancel copy
webinar | webinars | a presentation for a large audience | topic, start time, panelists, registration | cancel
recording | recordings | video and audio of a past meeting | meeting, retention, passcode | share restore
registrant | registrants | a person who signed up for a webinar | webinar, name, email | approve reject export
poll | polls | questions to participants | title, questions, meeting | copy
phone number | phone numbers | a line for calls | number, extension, user | assign
virtual background | virtual backgrounds | a picture behind participants | name, file |`
  }
];
