/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state folder, in which apps' tables survive a reboot: /var/lib/asap, or
 * $ASAPCTL_STATE. The table of an app is the file NAME.table; one that is of no
 * use is set aside as NAME.bad. What an app touches says much about its user: all
 * is for root alone.
 */
#ifndef _STATE_H
#define _STATE_H

/**
 * state_folder - where tables are kept
 *
 * Return: the path
 */
const char *state_folder(void);

/**
 * table_save - save an app's table in a file
 * @app:	the app's name
 * @path:	the file, replaced at once or not at all; NULL: to stdout
 *
 * Return: an exit status; what went wrong has been complained about
 */
int table_save(const char *app, const char *path);

/**
 * table_load - give a table to an app
 * @app:	the app's name
 * @path:	the file that has it
 *
 * Return: 0 or an errno value, which nobody has complained about
 */
int table_load(const char *app, const char *path);

/**
 * state_save - save an app's table in the state folder
 * @app:	the app's name
 *
 * Return: an exit status; what went wrong has been complained about
 */
int state_save(const char *app);

/**
 * state_load - give an app its table from the state folder
 * @app:	the app's name
 *
 * A file that is corrupt, or that another user could have written, is set aside
 * with one line to stderr. The app then learns anew.
 *
 * Return: an exit status: EXIT_DONE also if there is no table
 */
int state_load(const char *app);

#endif
